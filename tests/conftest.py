"""What holds for every test: no property fails because the machine is busy."""

from hypothesis import HealthCheck, settings

settings.register_profile("any load", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any load")
