"""Index, columns and coordinates come back with results of the same shape."""

import numpy as np
import pytest


class Series:
    """As that of pandas."""

    def __init__(self, values, index, name=None):
        self._values, self.index, self.name = np.asarray(values), list(index), name
        self.shape, self.dtype = self._values.shape, self._values.dtype

    def __array__(self, dtype=None, copy=None):
        return np.array(self._values, dtype)


class DataArray:
    """As that of xarray."""

    def __init__(self, values, coordinates):
        self._values, self.coordinates = np.asarray(values), coordinates
        self.shape, self.dtype, self.name = self._values.shape, self._values.dtype, None

    def __array__(self, dtype=None, copy=None):
        return np.array(self._values, dtype)

    def copy(self, data):
        return DataArray(data, self.coordinates)


Series.__module__, DataArray.__module__ = "pandas.core.series", "xarray.core.dataarray"


def test_results_of_the_same_shape_have_the_index(server):
    given = Series([1.0, 2.0, 3.0], ["a", "b", "c"], "loads")
    result = server.daxpy(given, [1.0, 1.0, 1.0], alpha=2.0)
    after = result.y
    assert type(after) is Series and after.index == ["a", "b", "c"] and after.name == "loads"
    np.testing.assert_array_equal(after, [3.0, 5.0, 7.0])
    assert "Series[3]" in repr(result)


def test_an_argument_that_is_also_a_result_keeps_its_own(server):
    one, other = Series([1.0, 2.0], [10, 20]), Series([1.0, 1.0], [30, 40])
    assert server.daxpy(one, other).y.index == [30, 40]
    assert server.daxpy.submit(one, other).result(20).y.index == [30, 40]


def test_coordinates_come_back(server):
    given = DataArray([1.0, 2.0], {"x": [0, 1]})
    after = server.daxpy(given, np.ones(2)).y
    assert type(after) is DataArray and after.coordinates == {"x": [0, 1]}


def test_other_shapes_and_arrays_of_the_caller_stay_arrays(server):
    index = Series([1.0, 2.0], [10, 20])
    solved = server.dgesv(np.array([[4.0, 1.0], [1.0, 3.0]]), index)
    assert type(solved.a) is np.ndarray and type(solved.b) is Series
    into = np.ones(2)
    assert server.daxpy(index, into, inplace=True).y is into


def test_with_pandas_itself(server):
    pandas = pytest.importorskip("pandas")
    series = pandas.Series([1.0, 2.0], index=["a", "b"], name="load")
    after = server.daxpy(series, np.ones(2)).y
    pandas.testing.assert_series_equal(after, series + 1)
    table = pandas.DataFrame({"u": [4.0, 1.0], "v": [1.0, 3.0]}, index=["x", "y"])
    factors = server.dgesv(table, np.ones(2)).a
    assert list(factors.columns) == ["u", "v"] and list(factors.index) == ["x", "y"]


def test_with_xarray_itself(server):
    xarray = pytest.importorskip("xarray")
    given = xarray.DataArray([1.0, 2.0], dims="x", coords={"x": [5, 6]}, attrs={"unit": "kN"})
    after = server.daxpy(given, np.ones(2)).y
    assert list(after.x) == [5, 6] and list(after.values) == [2.0, 3.0]
