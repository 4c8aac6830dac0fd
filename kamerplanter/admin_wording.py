"""Sentences that django-unfold marks for translation but brings no German for.

They are named here so that `makemessages` keeps them in our own catalogue; nothing imports this module.
"""

from django.utils.translation import gettext_noop

SENTENCES = (
    gettext_noop("Type to search"),
    gettext_noop("No results found"),
    gettext_noop("This page yielded into no results. Create a new item or reset your filters."),
    gettext_noop("Reset filters"),
    gettext_noop("Filters"),
    gettext_noop("Apply Filters"),
    gettext_noop("Select action"),
    gettext_noop("Select record"),
    gettext_noop("Select value"),
    gettext_noop("Select all rows"),
    gettext_noop("Select action to run"),
    gettext_noop("Run"),
    gettext_noop("Add row"),
    gettext_noop("General"),
    gettext_noop("Light"),
    gettext_noop("Dark"),
    gettext_noop("System"),
    gettext_noop("Return to site"),
    gettext_noop("Go back"),
    gettext_noop("Cancel"),
    gettext_noop("Submit"),
    gettext_noop("More actions"),
    gettext_noop("Previous"),
    gettext_noop("Next"),
    gettext_noop("This item will be deleted."),
    gettext_noop("Click to cancel"),
    gettext_noop("Toggle password visibility"),
    gettext_noop("Choose file to upload"),
    gettext_noop("No data"),
    gettext_noop("All applications"),
    gettext_noop("Raw passwords are not stored, so there is no way to see this "),
    gettext_noop("After you've created a user, you’ll be able to edit more user options."),
)
