from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0002_run_preempted_run_pruned'),
    ]

    operations = [
        migrations.AddField(
            model_name='ingestion',
            name='detectors',
            field=models.JSONField(default=dict),
        ),
        migrations.AddField(
            model_name='ingestion',
            name='watched_step',
            field=models.BigIntegerField(default=-1),
        ),
        migrations.AddField(
            model_name='ingestion',
            name='written_bytes',
            field=models.BigIntegerField(default=0),
        ),
    ]
