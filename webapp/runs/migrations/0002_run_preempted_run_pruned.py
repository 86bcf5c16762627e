from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0001_initial'),
    ]

    operations = [
        migrations.AddField(
            model_name='run',
            name='preempted',
            field=models.TextField(blank=True, default=''),
        ),
        migrations.AddField(
            model_name='run',
            name='pruned',
            field=models.TextField(blank=True, default=''),
        ),
    ]
