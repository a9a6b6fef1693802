"""Contract tests for authors of extensions: `check_mechanism` for a mechanism, `database_contract` for a database.

They need no test framework. A check returns if the contract holds, and raises an AssertionError if it does not.
"""

from halfmask.testing.mechanism_contract import check_mechanism

__all__ = ["check_mechanism"]
