"""New weights for vLLM's processor backend, within its worker process.

That backend packs the weights of linear layers anew when it loads them, and what is packed cannot be loaded into; verl
loads into it bucket by bucket. vLLM's own `reload_weights` undoes the packing first, and wants all weights at once.
"""

from __future__ import annotations

from typing import Any

import torch
from verl.workers.rollout.vllm_rollout.utils import vLLMColocateWorkerExtension


class CPUWorkerExtension(vLLMColocateWorkerExtension):
    """verl's extension of vLLM's workers, with `reload_weights` in the place of `load_weights`."""

    def update_weights_from_ipc(
        self, peft_config: dict[str, Any] | None = None, base_sync_done: bool = False, use_shm: bool = False
    ) -> None:
        """Receive weights from the trainer and take them over.

        Raises:
            NotImplementedError: They are those of an adapter.
        """
        if peft_config:
            raise NotImplementedError("LoRA adapters cannot be handed to vLLM on processors: train all weights")
        from verl.workers.rollout.vllm_rollout.bucketed_weight_transfer import BucketedWeightReceiver

        received: list[tuple[str, torch.Tensor]] = []

        def on_bucket(weights: list[tuple[str, torch.Tensor]], is_last: bool) -> None:
            received.extend((name, tensor.clone()) for name, tensor in weights)  # the bucket is used again

        receiver = BucketedWeightReceiver(
            zmq_handle=self._get_zmq_handle(), device=torch.device("cpu"), use_shm=use_shm
        )
        receiver.receive_weights(on_bucket_received=on_bucket)
        self.reload_weights(weights_iterator=iter(received), is_checkpoint_format=True)
