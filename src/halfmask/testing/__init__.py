"""Contract tests that authors of extensions run: `check_mechanism`, and for a kind of database `database_contract`.

They need no test framework. A check returns if the contract holds, and raises an AssertionError if it does not.
"""

from halfmask.testing.mechanism_contract import check_mechanism

__all__ = ["check_mechanism"]
