#!/usr/bin/env bash
# GRPO with Qwen3-8B on two machines with eight graphics cards each, joined by Ray.
#
#   on the first machine:   bash qwen3_8b_two_nodes.sh head
#   on the second machine:  bash qwen3_8b_two_nodes.sh join FIRST_MACHINE
#   on the first machine:   bash qwen3_8b_two_nodes.sh train /shared/run [OPTION...]
#   on both, afterwards:    bash qwen3_8b_two_nodes.sh stop
#
# Same Python environment on both, as for qwen3_8b_8_gpus.sh; the folder of the run is one that both see.
# Where a model plays the world, export SIMIA_SIMULATOR_BASE_URL, SIMIA_API_KEY and so on before `head` and `join`: Ray's
# processes take their environment from there.
# Its configuration is composed and validated by the project's tests; it has not been run on cards by them.
set -euo pipefail
case ${1:?head, join, train or stop} in
head)
    exec ray start --head --port "${RAY_PORT:-6379}"
    ;;
join)
    exec ray start --address "${2:?name or address of the first machine}:${RAY_PORT:-6379}"
    ;;
train)
    run=${2:?folder of the run, on a disk that both machines see}
    shift 2
    exec simia train grpo simia/retail-v0 --env simia/webshop-v0 \
        --profile multi_node --policy "${POLICY:-Qwen/Qwen3-8B}" \
        --steps 200 --groups 128 --group-size 8 --lr 1e-6 \
        --max-prompt-length 8192 --max-response-length 8192 --turn-tokens 2048 \
        --generated 20000 --val-generated 128 --val-tasks 128 --val-every 10 \
        --save-every 20 --keep 2 --out "$run" "$@"
    ;;
stop)
    exec ray stop
    ;;
*)
    echo "unknown: $1 (head, join, train or stop)" >&2
    exit 2
    ;;
esac
