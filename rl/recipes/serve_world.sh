#!/usr/bin/env bash
# A model that plays the world (and user and judge), served by vLLM on graphics cards of its own.
#
#   bash serve_world.sh [MODEL [PORT]]
#
# On the machine that trains, then:
#   bash qwen3_8b_8_gpus.sh /data/run --simulator llm --user llm --model MODEL --base-url http://THIS_MACHINE:PORT/v1
# An API takes its place with OPENAI_API_KEY in the environment, --model NAME and no --base-url.
# It has not been run on cards by the project's tests; a server of the build for processors is used in them.
set -euo pipefail
model=${1:-Qwen/Qwen3-32B} port=${2:-8000}
# Every request begins with the domain's rules, word for word: with prefix caching they are computed once.
exec vllm serve "$model" --port "$port" --tensor-parallel-size "${CARDS:-4}" \
    --enable-prefix-caching --max-model-len "${MAX_LENGTH:-32768}" --max-num-seqs "${AT_ONCE:-512}"
