"""Measures blocks of turns in which the machine keeps its speed.

A virtual machine is twice as slow while its cores are placed farther apart, and that changes within seconds. Figures from before and after
such a change can't be compared. So the limit has a turn at both ends of a block, and a block in which the limit's cost changed is measured
again, a bounded number of times. The table has a remark with the number of dropped blocks.
"""

CHANGE_MAX = 0.12


class Steady:
    """Measures blocks and counts the dropped ones. `blocks` is the number of all blocks; as many may be dropped."""

    def __init__(self, blocks):
        self.left = blocks
        self.dropped = 0
        self.kept_unsteady = 0

    def block(self, turns, price):
        """Measures a block; returns the turns' results by name. `turns` are functions by name, the limit's among them; `price(found)` is
        the cost of a turn's result."""
        while True:
            found = {name: turn() for name, turn in turns.items()}
            if "limit" not in turns:
                return found
            before, after = price(found["limit"]), price(turns["limit"]())
            if abs(before - after) <= CHANGE_MAX * min(before, after):
                return found
            if self.left == 0:
                self.kept_unsteady += 1
                return found
            self.left -= 1
            self.dropped += 1

    def said(self):
        """A remark for the table; empty if no block was dropped."""
        if not self.dropped:
            return ""
        kept = f"; {self.kept_unsteady} more were kept" if self.kept_unsteady else ""
        return f"{self.dropped} blocks were measured anew, since the limit's own price changed within them{kept}."
