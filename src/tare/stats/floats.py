"""The type of arrays of numbers."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
