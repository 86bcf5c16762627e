import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='Ingestion',
            fields=[
                ('run', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='ingestion', serialize=False, to='runs.run')),
                ('source', models.CharField(max_length=40)),
                ('received_seq', models.BigIntegerField(default=0)),
                ('written_seq', models.BigIntegerField(default=0)),
                ('step', models.BigIntegerField(default=-1)),
                ('metrics', models.JSONField(default=dict)),
                ('tokens', models.BigIntegerField(default=0)),
                ('started_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.AlterField(
            model_name='run',
            name='state',
            field=models.CharField(choices=[('queued', 'Queued'), ('starting', 'Starting'), ('running', 'Running'), ('paused', 'Paused'), ('stalled', 'Stalled'), ('lost', 'Lost'), ('stopping', 'Stopping'), ('finished', 'Finished'), ('stopped', 'Stopped'), ('failed', 'Failed'), ('crashed', 'Crashed'), ('reporting', 'Running elsewhere')], default='queued', max_length=10),
        ),
    ]
