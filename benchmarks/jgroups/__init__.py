"""The same load on a stablecast group and on a JGroups group, by turns."""
