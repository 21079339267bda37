"""TRL's trainer on CPU: the same loss, with logits computed only at learned positions, and of some of them at a time.

On a GPU, TRL's kernels compute logits only at learned positions. On CPU TRL computes all of them, which takes most of
the time when a few percent of the tokens are the policy's. TRL also passes a padding mask, which is not needed: padding
is on the right, where causal attention never looks. For packed conversations, and for models whose logits are no plain
matrix product, TRL's own loss is used.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.checkpoint import checkpoint
from trl import SFTTrainer

from simia_gym.rl.sft.encode import IGNORED
from simia_gym.rl.sft.order import MixedLengths
from simia_gym.rl.small.logits import plain_logits

_LOGITS = 2**25
"""Maximum logits of one part of the learned tokens; in 32 bits 128 MiB."""


class PolicyTokensTrainer(SFTTrainer):
    """An ``SFTTrainer`` that on CPU computes logits only at the policy's tokens.

    Attributes:
        order: The sampler of training data; ``None`` for that of transformers.
    """

    order: MixedLengths | None = None

    def _get_train_sampler(self, train_dataset: Any = None) -> Any:
        return super()._get_train_sampler(train_dataset) if self.order is None else self.order

    def compute_loss(
        self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """TRL's loss, the negative log-likelihood of the policy's tokens; also records TRL's metrics."""
        plain = self.args.loss_type == "nll" and not self.label_smoother and not self.aux_loss_enabled
        plain = plain and plain_logits(self.model.config) and "position_ids" not in inputs
        alone = self.accelerator.num_processes == 1 and self.args.device.type == "cpu"
        if return_outputs or not plain or not alone or self.compute_loss_func is not None:
            return super().compute_loss(
                model, inputs, return_outputs=return_outputs, num_items_in_batch=num_items_in_batch
            )
        labels = inputs["labels"][:, 1:]
        learned = labels != IGNORED
        backbone, head = getattr(model, model.base_model_prefix), model.get_output_embeddings()

        def score(hidden: Any, wanted: Any) -> tuple[Any, Any, Any]:
            """Summed loss, summed entropy, and how many tokens are the most likely ones."""
            logits = head(hidden).float()
            with torch.no_grad():
                chances = logits.log_softmax(-1)
                entropy, right = -(chances.exp() * chances).sum(), (logits.argmax(-1) == wanted).sum()
            return torch.nn.functional.cross_entropy(logits, wanted, reduction="sum"), entropy, right

        with self.accelerator.autocast():
            hidden = backbone(input_ids=inputs["input_ids"], use_cache=False).last_hidden_state[:, :-1][learned]
            size = max(1, _LOGITS // head.weight.shape[0])
            parts = list(zip(hidden.split(size), labels[learned].split(size), strict=True))
            if len(parts) > 1:  # the logits of a part are computed again for its gradient
                scores = [checkpoint(score, *part, use_reentrant=False) for part in parts]
            else:
                scores = [score(*parts[0])]
        total, entropy, right = (torch.stack(one).sum() for one in zip(*scores, strict=True))
        count = torch.as_tensor(len(hidden) if num_items_in_batch is None else num_items_in_batch)
        self._measure(inputs, len(hidden), entropy.item(), right.item())
        return total / count.clamp(min=1)

    def _measure(self, inputs: dict[str, Any], learned: int, entropy: float, right: float) -> None:
        """Record the metrics that TRL records, separately for training and evaluation."""
        mode = "train" if self.model.training else "eval"
        kept = self._metrics[mode]
        if learned:
            kept["entropy"].append(entropy / learned)
            kept["mean_token_accuracy"].append(right / learned)
        if mode == "train":
            self._total_train_tokens += int(inputs["attention_mask"].sum())
        kept["num_tokens"] = [self._total_train_tokens]
