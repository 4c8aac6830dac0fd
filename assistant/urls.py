from django.urls import path

from assistant import views

urlpatterns = [
    path("", views.home, name="home"),
    path("ask/", views.ask_question, name="ask"),
    path("conversations/", views.conversation_list, name="conversations"),
    path("conversations/<int:conversation_id>/", views.conversation_page, name="conversation"),
    path("conversations/<int:conversation_id>/delete/", views.delete, name="conversation-delete"),
    path("turns/<int:turn_id>/", views.turn_fragment, name="turn"),
    path("turns/<int:turn_id>/stop/", views.stop_turn, name="turn-stop"),
    path("turns/<int:turn_id>/receipt/", views.receipt_page, name="receipt"),
    path("sources/<int:version_id>/", views.source_page, name="source"),
]
