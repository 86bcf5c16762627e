import django.db.models.deletion
import django.utils.timezone
import webapp.alerts.models
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ('runs', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='Delivery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('seq', models.BigIntegerField(null=True)),
                ('event', models.CharField(default='alert.raised', max_length=20)),
                ('detail', models.JSONField(default=dict)),
                ('channel', models.CharField(max_length=40)),
                ('target', models.CharField(max_length=500)),
                ('message_id', models.CharField(max_length=40, unique=True)),
                ('state', models.CharField(choices=[('waiting', 'waiting'), ('sent', 'sent'), ('failed', 'failed')], default='waiting', max_length=7)),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('next_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('run', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='runs.run')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-created_at', '-pk'],
                'indexes': [models.Index(fields=['state', 'next_at'], name='alerts_deli_state_553d20_idx')],
                'constraints': [models.UniqueConstraint(fields=('run', 'seq', 'channel'), name='one_delivery_per_channel')],
            },
        ),
        migrations.CreateModel(
            name='DeliveryAttempt',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('at', models.DateTimeField(default=django.utils.timezone.now)),
                ('seconds', models.FloatField()),
                ('status', models.PositiveIntegerField(null=True)),
                ('error', models.CharField(blank=True, default='', max_length=300)),
                ('delivery', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tries', to='alerts.delivery')),
            ],
            options={
                'ordering': ['-at', '-pk'],
            },
        ),
        migrations.CreateModel(
            name='NotificationSettings',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('scope', models.CharField(choices=[('mine', 'my runs and runs without an owner'), ('all', 'all runs')], default='mine', max_length=4)),
                ('least_severity', models.CharField(choices=[('watch', 'watch'), ('warn', 'warn'), ('critical', 'critical'), ('dead', 'dead')], default='warn', max_length=8)),
                ('run_events', models.CharField(choices=[('none', 'no'), ('failed', 'when one fails'), ('ended', 'whenever one ends'), ('all', 'when one starts or ends')], default='none', max_length=6)),
                ('endings', models.CharField(choices=[('none', 'no'), ('failed', 'when one fails'), ('ended', 'whenever one ends')], default='none', max_length=6)),
                ('email', models.EmailField(blank=True, default='', max_length=254)),
                ('email_on', models.BooleanField(default=False)),
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='notifications', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='Webhook',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('url', models.CharField(max_length=500)),
                ('nonce', models.CharField(default=webapp.alerts.models.new_nonce, max_length=32)),
                ('on', models.BooleanField(default=True)),
                ('off_reason', models.CharField(blank=True, default='', max_length=200)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='webhooks', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
    ]
