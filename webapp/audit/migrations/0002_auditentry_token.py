from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('audit', '0001_initial'),
    ]

    operations = [
        migrations.AddField(
            model_name='auditentry',
            name='token',
            field=models.CharField(blank=True, default='', max_length=60),
        ),
    ]
