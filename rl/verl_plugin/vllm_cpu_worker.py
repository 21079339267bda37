"""Loads new weights in the worker process of vLLM's CPU backend.

The backend repacks the weights of linear layers after it has loaded them, and weights cannot be loaded into repacked
layers. verl loads weights bucket by bucket, which fails. vLLM's `reload_weights` undoes the packing first, but needs
all weights at once.
"""

from __future__ import annotations

from typing import Any

import torch
from verl.workers.rollout.vllm_rollout.utils import vLLMColocateWorkerExtension


class CPUWorkerExtension(vLLMColocateWorkerExtension):
    """verl's extension of vLLM's workers, which loads weights by `reload_weights` instead of `load_weights`."""

    def update_weights_from_ipc(
        self, peft_config: dict[str, Any] | None = None, base_sync_done: bool = False, use_shm: bool = False
    ) -> None:
        """Receive weights from the trainer and load them; the launch refuses adapters."""
        from verl.workers.rollout.vllm_rollout.bucketed_weight_transfer import BucketedWeightReceiver

        received: list[tuple[str, torch.Tensor]] = []

        def on_bucket(weights: list[tuple[str, torch.Tensor]], is_last: bool) -> None:
            received.extend((name, tensor.clone()) for name, tensor in weights)  # verl reuses the bucket's memory

        receiver = BucketedWeightReceiver(
            zmq_handle=self._get_zmq_handle(), device=torch.device("cpu"), use_shm=use_shm
        )
        receiver.receive_weights(on_bucket_received=on_bucket)
        self.reload_weights(weights_iterator=iter(received), is_checkpoint_format=True)
