#!/bin/sh
# /// tool
# description = "Takes as many seconds as it is told."
# kind = "read"
# [params]
# seconds = { type = "integer", required = true, minimum = 0, description = "How many." }
# label = { type = "string", description = "Is repeated in the answer." }
# ///
sleep "$PARAM_SECONDS"
echo "${PARAM_LABEL:-unnamed} took $PARAM_SECONDS seconds."
