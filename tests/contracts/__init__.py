"""One suite per abstraction that every member of it passes."""

import pytest

for suite in ("kernels", "maps", "selectors", "activations"):
    pytest.register_assert_rewrite(f"tests.contracts.{suite}")
