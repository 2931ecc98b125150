"""The environment variables that make cuDNN write its API log."""

from __future__ import annotations

# 9.x reads the level, 8.x the other three; each leaves the other's alone.
LOG_VARIABLES = {
    "CUDNN_LOGLEVEL_DBG": "3",
    "CUDNN_LOGINFO_DBG": "1",
    "CUDNN_LOGWARN_DBG": "1",
    "CUDNN_LOGERR_DBG": "1",
}
DESTINATION = "CUDNN_LOGDEST_DBG"
