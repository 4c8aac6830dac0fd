from django.db import migrations


def create_vector_table(apps, schema_editor):
    from knowledge.index.vectors import ensure_table

    ensure_table(dimension=512)


def fill(apps, schema_editor):
    apps.get_model("knowledge", "Scope").objects.get_or_create(key="global", tenant=None)
    apps.get_model("knowledge", "WriterFence").objects.get_or_create(id=1)


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0002_documents_jobs_index")]
    operations = [
        # Postings are read whole: compressing them would only cost time.
        migrations.RunSQL(
            [
                "ALTER TABLE knowledge_posting ALTER ordinals SET STORAGE EXTERNAL",
                "ALTER TABLE knowledge_posting ALTER frequencies SET STORAGE EXTERNAL",
            ],
            migrations.RunSQL.noop,
        ),
        migrations.RunPython(create_vector_table, migrations.RunPython.noop),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
