"""A trainer of transformers' models with FSDP2 around encoder and decoder, and what it must learn."""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional_collectives
from tiny_models import LENGTH, Batch, alone_batch, batch_of, family_of, tiny, whole_loss
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn import functional

from hpplan.exchange import ExchangeGroup, FeatureExchange, items_from_batch
from hpplan.routing.mesh import Mesh, parse_mesh

LEAST = (1, 2, 2)


class Client(torch.nn.Module):
    """A model whose forward is a trainer's step up to the loss."""

    def __init__(
        self, name: str, group: ExchangeGroup, device_mesh: DeviceMesh, mesh: Mesh | None = None
    ) -> None:
        """Shard encoder and decoder over all ranks of the job; `mesh` is that of a group that knows none."""
        super().__init__()
        self.model = tiny(name)
        self.family = family_of(name)
        self.group, self.mesh = group, mesh
        self.beside = [
            device_mesh[one].get_group() for one in ("cp", "tp") if one in device_mesh.mesh_dim_names
        ]
        """The ranks that split the sequence, or hold copies of it."""
        every = device_mesh if device_mesh.ndim == 1 else init_device_mesh("cpu", (dist.get_world_size(),))
        self.encoder, self.decoder = self.model.model.visual, self.model.model.language_model
        for part in (*self.encoder.blocks, self.encoder, *self.decoder.layers, self):
            fully_shard(part, mesh=every)
        self.scale = 1.0
        self.through_transformers = False
        """Whether transformers puts features in their places."""

    def forward(self, batch: Batch) -> torch.Tensor:
        """Return this rank's share of the mean loss of its replica."""
        found = items_from_batch(
            self.family, batch.input_ids, attention_mask=batch.attention_mask, **batch.grids
        )
        sequence = {"length": LENGTH, "cp_layout": "zigzag"}
        exchange = FeatureExchange.plan(found.items, self.mesh, sequence, self.group)
        pixels, grids = exchange.bring(
            torch.cat([batch.pixel_values, batch.pixel_values_videos]),
            torch.cat([batch.image_grid_thw, batch.video_grid_thw]),
            least=LEAST,
        )
        encoded = self.encoder(pixels, grid_thw=grids)
        received = exchange([encoded.pooler_output, *getattr(encoded, "deepstack_features", [])])
        self.scale = exchange.gradient_scale
        if self.through_transformers:
            given = {
                name: getattr(batch, name) for name in ("input_ids", "attention_mask", "mm_token_type_ids")
            }
            outputs = received.mm_encoder_outputs(found.kinds)
            logits = self.model(**given, **batch.grids, mm_encoder_outputs=outputs).logits
            return received.tie(functional.cross_entropy(logits.flatten(0, 1), batch.targets.flatten()))
        embeds = self.decoder.embed_tokens(exchange.take_local(batch.input_ids))
        levels = range(1, len(received.payloads))
        hidden = (
            received.merge_into(embeds),
            *(received.merge_into(torch.zeros_like(embeds), level) for level in levels),
        )
        tokens = exchange.local_tokens
        logits = self.model.lm_head(self._decode(batch, *(self._whole(one, tokens) for one in hidden)))
        targets = batch.targets
        mine = functional.cross_entropy(
            logits[:, tokens].flatten(0, 1), targets[:, tokens].flatten(), reduction="sum"
        )
        return mine / (targets >= 0).sum()

    def _decode(self, batch: Batch, embeds: torch.Tensor, *levels: torch.Tensor) -> torch.Tensor:
        where = batch.mm_token_type_ids > 0
        positions, _ = self.model.model.get_rope_index(
            batch.input_ids, batch.mm_token_type_ids, **batch.grids, attention_mask=batch.attention_mask
        )
        deep = {"visual_pos_masks": where, "deepstack_visual_embeds": [one[where] for one in levels]}
        output = self.decoder(
            inputs_embeds=embeds,
            attention_mask=batch.attention_mask,
            position_ids=positions,
            **(deep if levels else {}),
        )
        hidden: torch.Tensor = output.last_hidden_state
        return hidden

    def _whole(self, local: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        """Return all tokens of this replica: transformers' decoders have no context parallelism."""
        if len(tokens) == LENGTH:
            return local
        (beside,) = self.beside
        order = functional_collectives.all_gather_tensor(tokens, 0, beside)
        gathered = functional_collectives.all_gather_tensor_autograd(local, 1, beside)
        return gathered[:, order.argsort()]


class Layout(NamedTuple):
    """A mesh, how replicas pool, and into how many shares the loss of a replica is cut."""

    mesh: dict[str, int]
    pool: int | str = "all"
    sp: bool = False
    through_transformers: bool = False

    @property
    def shares(self) -> int:
        """Ranks whose losses add up to that of their replica."""
        return self.mesh.get("cp", 1) * (self.mesh.get("tp", 1) if self.sp else 1)


LAYOUTS = (
    Layout({"dp": 4}),
    Layout({"dp": 4}, pool=2),
    Layout({"dp": 4}, through_transformers=True),
    Layout({"dp": 2, "cp": 2}),
    Layout({"dp": 2, "cp": 2}, pool=1),
    Layout({"dp": 2, "tp": 2}, sp=True),
    Layout({"dp": 2, "tp": 2}),
)

STEPS = 2


def differences(rank: int, name: str) -> list[tuple[str, float, float, int]]:
    """Return, by layout, how far losses and gradients are from one process, and how many were compared.

    Both are parts of the largest that one process has.
    """
    return [
        (f"{layout} {'set' if divides else 'default'}", *_compared(rank, name, layout, divides=divides))
        for layout in LAYOUTS
        for divides in (False, True)
    ]


def _compared(rank: int, name: str, layout: Layout, *, divides: bool) -> tuple[float, float, int]:
    device_mesh = init_device_mesh("cpu", tuple(layout.mesh.values()), mesh_dim_names=tuple(layout.mesh))
    group = ExchangeGroup.from_device_mesh(device_mesh, sp=layout.sp, pool=layout.pool)  # type: ignore[arg-type]
    assert group.mesh is not None
    replica, replicas, world = group.mesh.coordinates(rank)["dp"], layout.mesh["dp"], dist.get_world_size()
    client, alone = Client(name, group, device_mesh), tiny(name)
    client.through_transformers = layout.through_transformers
    learned = [torch.optim.SGD(one.parameters(), lr=0.05) for one in (client, alone)]
    if divides:
        encoder_parts = [*client.encoder.blocks, client.encoder]
        for part in encoder_parts:
            part.set_gradient_divide_factor(world / group.mesh.replica_size)
        for part in (*client.decoder.layers, client):
            part.set_gradient_divide_factor(world / layout.shares)
    of_losses, of_gradients, compared = 0.0, 0.0, 0
    for step in range(STEPS):
        loss = client(batch_of(name, replica, step))
        loss.backward()
        of_encoder = {id(parameter) for parameter in client.encoder.parameters()}
        if not divides:
            for parameter in client.parameters():
                if parameter.grad is not None:
                    parameter.grad *= client.scale if id(parameter) in of_encoder else layout.shares
        expected = torch.stack(
            [whole_loss(alone, batch_of(name, one, step)) for one in range(replicas)]
        ).mean()
        expected.backward()  # type: ignore[no-untyped-call]
        total = loss.detach().clone()
        dist.all_reduce(total)
        total *= layout.shares / world
        of_losses = max(of_losses, abs(float((total - expected.detach()) / expected.detach())))
        wanted = dict(alone.named_parameters())
        for named, parameter in client.model.named_parameters():
            grad, want = parameter.grad.full_tensor(), wanted[named].grad
            of_gradients = max(
                of_gradients, float((grad - want).abs().max() / want.abs().max().clamp(min=1e-3))
            )
            compared += bool(want.abs().max() > 0)
        for optimizer in learned:
            optimizer.step()
            optimizer.zero_grad()
    return of_losses, of_gradients, compared


def idle_steps(rank: int, name: str) -> list[tuple[float, float]]:
    """Train 20 steps with one image among all ranks; return how far weights end from those of one process.

    The exchange has a group of its own, and then that of FSDP2.
    """
    world = dist.get_world_size()
    device_mesh = init_device_mesh("cpu", (world,), mesh_dim_names=("dp",))
    own = ExchangeGroup.from_device_mesh(device_mesh, pool="all")
    shared = ExchangeGroup.from_process_group(device_mesh.get_group())
    return [
        _trained(rank, Client(name, own, device_mesh)),
        _trained(rank, Client(name, shared, device_mesh, parse_mesh(f"dp={world}").pooled("all"))),
    ]


def _trained(rank: int, client: Client) -> tuple[float, float]:
    alone, world = tiny(client.family.name), dist.get_world_size()
    learned = [torch.optim.SGD(one.parameters(), lr=0.01) for one in (client, alone)]
    loss = torch.zeros(())
    for step in range(20):
        loss = client(alone_batch(client.family.name, rank, step % world))
        loss.backward()
        losses = [
            whole_loss(alone, alone_batch(client.family.name, one, step % world)) for one in range(world)
        ]
        torch.stack(losses).mean().backward()  # type: ignore[no-untyped-call]
        for optimizer in learned:
            optimizer.step()
            optimizer.zero_grad()
    wanted = dict(alone.named_parameters())
    off = [
        float((parameter.full_tensor() - wanted[named]).detach().abs().max())
        for named, parameter in client.model.named_parameters()
    ]
    return max(off), float(loss)
