from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('alerts', '0001_initial'),
    ]

    operations = [
        migrations.AddField(
            model_name='delivery',
            name='detail',
            field=models.JSONField(default=dict),
        ),
        migrations.AddField(
            model_name='delivery',
            name='event',
            field=models.CharField(default='alert.raised', max_length=20),
        ),
        migrations.AddField(
            model_name='notificationsettings',
            name='run_events',
            field=models.CharField(choices=[('none', 'no'), ('failed', 'when one fails'), ('ended', 'whenever one ends'), ('all', 'when one starts or ends')], default='none', max_length=6),
        ),
    ]
