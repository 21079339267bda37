"""TRL's trainer on CPU: the same loss, with logits computed only at learned positions.

On a GPU, TRL's kernels compute logits only at learned positions. On CPU TRL computes all of them, which takes most of
the time when a few percent of the tokens are the policy's. TRL also passes a padding mask, which is not needed: padding
is on the right, where causal attention never looks. For packed conversations, and for models whose logits are no plain
matrix product, TRL's own loss is used.
"""

from __future__ import annotations

from typing import Any

from trl import SFTTrainer

from simia_gym.rl.sft.encode import IGNORED
from simia_gym.rl.sft.order import MixedLengths
from simia_gym.rl.small.heads import plain_head


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
        plain = plain and plain_head(self.model.config) and "position_ids" not in inputs
        alone = self.accelerator.num_processes == 1 and self.args.device.type == "cpu"
        if return_outputs or not plain or not alone or self.compute_loss_func is not None:
            return super().compute_loss(
                model, inputs, return_outputs=return_outputs, num_items_in_batch=num_items_in_batch
            )
        import torch

        labels = inputs["labels"][:, 1:]
        learned = labels != IGNORED
        backbone = getattr(model, model.base_model_prefix)
        with self.accelerator.autocast():
            hidden = backbone(input_ids=inputs["input_ids"], use_cache=False).last_hidden_state[:, :-1]
            logits = model.get_output_embeddings()(hidden[learned])
        logits, wanted = logits.float(), labels[learned]
        total = torch.nn.functional.cross_entropy(logits, wanted, reduction="sum")
        count = torch.as_tensor(len(wanted) if num_items_in_batch is None else num_items_in_batch)
        self._measure(logits.detach(), wanted, inputs)
        return total / count.clamp(min=1)

    def _measure(self, logits: Any, wanted: Any, inputs: dict[str, Any]) -> None:
        """Record the metrics that TRL records, separately for training and evaluation."""
        mode = "train" if self.model.training else "eval"
        kept = self._metrics[mode]
        if len(wanted):
            chances = logits.log_softmax(-1)
            kept["entropy"].append(-(chances.exp() * chances).sum(-1).mean().item())
            kept["mean_token_accuracy"].append((logits.argmax(-1) == wanted).float().mean().item())
        if mode == "train":
            self._total_train_tokens += int(inputs["attention_mask"].sum())
        kept["num_tokens"] = [self._total_train_tokens]
