#!/usr/bin/env bash
# GRPO with Qwen3-8B on one machine with eight graphics cards of 80 GiB; the world is played by code.
#
#   bash qwen3_8b_8_gpus.sh /data/run [OPTION...]
#
# Every further word goes to `simia train grpo`, such as --dry-run, --resume or --set KEY=VALUE.
# Before: pip install -e '.[rl]' 'torch==2.11.0' 'vllm==0.24.0' 'transformers==5.9.0'
# Its configuration is composed and validated by the project's tests; it has not been run on cards by them.
set -euo pipefail
run=${1:?folder of the run}
shift
exec simia train grpo simia/retail-v0 --env simia/webshop-v0 \
    --profile gpu_1x8 --policy "${POLICY:-Qwen/Qwen3-8B}" \
    --steps 200 --groups 64 --group-size 8 --lr 1e-6 \
    --max-prompt-length 8192 --max-response-length 8192 --turn-tokens 2048 \
    --generated 20000 --val-generated 128 --val-tasks 128 --val-every 10 \
    --save-every 20 --keep 2 --out "$run" "$@"
