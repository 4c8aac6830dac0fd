from django.contrib.postgres.operations import BtreeGistExtension
from django.db import migrations
from pgvector.django import VectorExtension


class Migration(migrations.Migration):
    initial = True
    dependencies = []
    operations = [BtreeGistExtension(), VectorExtension()]
