from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0007_alerts_by_step'),
    ]

    operations = [
        migrations.AddField(
            model_name='run',
            name='verdict',
            field=models.JSONField(blank=True, default=dict),
        ),
    ]
