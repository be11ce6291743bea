from hypothesis import settings

# The same examples on every machine: a statistics test that fails by luck teaches to ignore it.
settings.register_profile("stats", derandomize=True, deadline=None, database=None)
settings.load_profile("stats")
