#!/bin/sh
# /// tool
# description = "Prints three lines, each for itself."
# kind = "read"
# ///
for state in started "processing data" completed; do
    echo "Tool execution: $state"
    sleep 1.6
done
