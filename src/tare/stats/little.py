"""Little's law as a check on a load generator's books."""


def little_residual(rate: float, mean_time_s: float, mean_in_flight: float) -> float:
    """|λW − L| / L: how far rate (per second) × mean time (s) misses the mean in flight.

    The three must be measured independently over one window; in an open loop the time runs from
    the intended send, as the count in flight does. 0 is perfect; a trial with more than 0.05
    does not count. Raises ValueError unless `mean_in_flight` is above 0.
    Source: Little (1961), Operations Research 9(3):383-387.
    """
    if not mean_in_flight > 0:
        raise ValueError(f"Little's law needs requests in flight, found a mean of {mean_in_flight}")
    return abs(rate * mean_time_s - mean_in_flight) / mean_in_flight
