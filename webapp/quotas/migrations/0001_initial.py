import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
    ]

    operations = [
        migrations.CreateModel(
            name='UserQuota',
            fields=[
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='quota', serialize=False, to=settings.AUTH_USER_MODEL)),
                ('runs_at_once', models.PositiveIntegerField(blank=True, null=True)),
                ('device_hours', models.PositiveIntegerField(blank=True, null=True)),
                ('disk_gib', models.PositiveIntegerField(blank=True, null=True)),
                ('changed_by', models.CharField(default='', max_length=150)),
                ('changed_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
    ]
