from hypothesis import settings

# The same examples on every machine: a test that fails by luck teaches people to ignore it.
settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")
