"""Blocks of turns within which the machine kept its speed.

A virtual machine is twice as slow when its cores are placed farther apart, and that changes within seconds; a server that was measured
before and one that was measured after compare as nothing does. So the limit has a turn at both ends of a block, and a block
in which its price changed is measured anew, a bounded number of times. What was dropped is counted, and told beside the table.
"""

CHANGE_MAX = 0.12


class Steady:
    """Measures blocks, and counts those that it had to drop. `blocks`: how many there will be; as many may be dropped."""

    def __init__(self, blocks):
        self.left = blocks
        self.dropped = 0
        self.kept_unsteady = 0

    def block(self, turns, price):
        """`turns`: functions by name, the limit's among them; `price(found)`: what a turn cost. The turns' results by name."""
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
        """A sentence for beside the table; empty when nothing is to be told."""
        if not self.dropped:
            return ""
        kept = f"; {self.kept_unsteady} more were kept" if self.kept_unsteady else ""
        return f"{self.dropped} blocks were measured anew, since the limit's own price changed within them{kept}."
