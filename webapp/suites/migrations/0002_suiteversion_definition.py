from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('suites', '0001_initial'),
    ]

    operations = [
        migrations.AddField(
            model_name='suiteversion',
            name='definition',
            field=models.TextField(blank=True, default=''),
        ),
    ]
