from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('sweeps', '0001_initial'),
    ]

    operations = [
        migrations.AddField(
            model_name='plannedrun',
            name='compared_at',
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='plannedrun',
            name='pruned',
            field=models.TextField(blank=True, default=''),
        ),
    ]
