#!/bin/sh
# /// tool
# description = "Shows its progress."
# kind = "read"
# ///
for percent in 0 50 100; do
    echo "$percent of 100"
    sleep 1.6
done
