import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('runs', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='WhatIf',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('finished', 'Finished'), ('stopped', 'Stopped'), ('refused', 'Refused'), ('failed', 'Failed')], default='queued', max_length=10)),
                ('stop_requested', models.BooleanField(default=False)),
                ('message', models.TextField(blank=True, default='')),
                ('process', models.JSONField(default=dict)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('started_at', models.DateTimeField(blank=True, null=True)),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('split', models.CharField(max_length=10)),
                ('step', models.PositiveIntegerField()),
                ('attempt', models.PositiveIntegerField(default=1)),
                ('environment', models.CharField(max_length=60)),
                ('group', models.PositiveIntegerField()),
                ('member', models.PositiveIntegerField()),
                ('turn', models.PositiveIntegerField()),
                ('edit', models.CharField(max_length=10)),
                ('text', models.TextField(blank=True, default='')),
                ('checkpoint', models.CharField(blank=True, default='', max_length=20)),
                ('temperature', models.FloatField()),
                ('seed', models.BigIntegerField()),
                ('remedy', models.TextField(blank=True, default='')),
                ('summary', models.JSONField(default=dict)),
                ('owner', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL)),
                ('parent', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.RESTRICT, related_name='children', to='whatif.whatif')),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='what_ifs', to='runs.run')),
            ],
            options={
                'ordering': ['-pk'],
                'abstract': False,
                'indexes': [models.Index(fields=['state', 'created_at'], name='whatif_what_state_a90e67_idx'), models.Index(fields=['run', 'step', 'group'], name='whatif_what_run_id_75b54e_idx')],
            },
        ),
    ]
