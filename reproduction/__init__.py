"""The paper's tables and figures, computed anew and put beside the paper's."""
