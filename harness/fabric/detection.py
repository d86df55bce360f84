"""SprayCheck beside a job, on typed events: the same live and in re-analysis. Pure.

    FabricReady, RoutingChanged ─► controllers, monitor
    FlowAnnounced, FlowCounted  ─► LeafController ─► PathsCompared, FlowUnjudged
    PathsCompared               ─► Monitor ─► VerdictIssued, IncidentClosed
    ExchangeWaited, -Ended      ─► time passes        FabricEnded ─► tell what is open

`on_event` returns what the shell must write next, and hands back in once it is written:
then it has its place, which verdicts refer to. Called by `simulated` and by
`harness.analyze`. It sees no fault, and knows none.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.fabric.reports import compared, reported
from spraycheck.announcement import Announcement
from spraycheck.control import ControlConfig, LeafController
from spraycheck.errors import CalibrationError
from spraycheck.monitor import Monitor, MonitorConfig
from spraycheck.report import (
    ControlEvent,
    CounterOverflowed,
    FlowClosed,
    InputRejected,
    PathsReported,
)
from vocab.event_base import Event
from vocab.events import Problem, Stamped
from vocab.fabric_events import (
    ExchangeEnded,
    ExchangeWaited,
    FabricEnded,
    FabricReady,
    FlowAnnounced,
    FlowCounted,
    FlowUnjudged,
    PathsCompared,
    RoutingChanged,
    Sensitivity,
)
from vocab.graph import LeafSpine
from vocab.names import leaf_name, parse_link, parse_node
from vocab.verdict import EvidenceRef

MONITOR = "monitor"
FABRIC = "fabric"
_NS_PER_S = 1e9
# Flows that are not measured are announced, too, and end with the next announcement.
_USUAL = ("compared", "superseded")


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """An event to be written into the file of `source`."""

    source: str
    event: Event


@dataclass(slots=True)
class Detection:
    """All leaf controllers and the monitor of one fabric."""

    _controllers: dict[int, LeafController] = field(default_factory=dict)
    _monitor: Monitor | None = None
    _ready: FabricReady | None = None
    _measured: dict[int, set[int]] = field(default_factory=dict)  # leaf -> QPs counted

    def on_event(self, stamped: Stamped) -> tuple[Output, ...]:
        """Take in an event that stands in a file; returns what follows from it.

        What cannot be (a leaf, link or flow that is none) is said by name, as an event
        of the monitor, and blames nobody.
        """
        try:
            return self._take(stamped)
        except ValueError as error:  # of names, wire, reports, counts, graph alike
            what = type(stamped.event).__name__
            message = f"{what} {stamped.seq} of {stamped.source}: {error}"
            return (_problem(message),)

    def _take(self, stamped: Stamped) -> tuple[Output, ...]:
        event, now_ns = stamped.event, stamped.t_ns
        match event:
            case FabricReady():
                self._start(event)
                return ()
            case RoutingChanged():
                return self._route(event, now_ns)
            case FlowAnnounced():
                return self._announced(event, now_ns)
            case FlowCounted():
                return self._counted(stamped, event, now_ns)
            case PathsCompared():
                return self._compared(stamped, event, now_ns)
            case ExchangeWaited(step=step) | ExchangeEnded(step=step):
                return self._tick(step, now_ns)
            case FabricEnded(step=step) if self._monitor is not None:
                news = self._monitor.on_finished(now_ns, step=step)
                return tuple(Output(source=MONITOR, event=item) for item in news)
        return ()

    # --- starting and routing -----------------------------------------------------

    def _start(self, ready: FabricReady) -> None:
        self._ready = ready
        graph = _graph(ready, ready.disabled)
        by_spines = {item.num_spines: item for item in ready.sensitivities}
        most = by_spines[max(by_spines)] if by_spines else None
        config = ControlConfig(
            sensitivity=lambda num_spines: _s(by_spines, num_spines),
            min_packets_per_spine=ready.min_packets_per_spine,
            wanted_drop_frac=ready.wanted_drop_frac,
            variance_ratio=most.variance_ratio if most else 1.0,
        )
        self._controllers = {
            leaf: LeafController(leaf=leaf, graph=graph, config=config)
            for leaf in range(ready.num_leaves)
        }
        patience_ns = round(ready.patience_s * _NS_PER_S)
        self._monitor = Monitor(
            graph=graph, config=MonitorConfig(patience_ns=patience_ns)
        )

    def _route(self, changed: RoutingChanged, now_ns: int) -> tuple[Output, ...]:
        if self._ready is None or self._monitor is None:
            return ()
        graph = _graph(self._ready, changed.disabled)
        found: list[Output] = []
        for leaf, controller in self._controllers.items():
            news = controller.on_routing_changed(graph, now_ns)
            found += self._told(leaf, changed.step, news)
        for item in self._monitor.on_routing_changed(graph, now_ns):
            found.append(Output(source=MONITOR, event=item))
        return tuple(found)

    # --- flows --------------------------------------------------------------------

    def _announced(self, event: FlowAnnounced, now_ns: int) -> tuple[Output, ...]:
        controller = self._controllers.get(event.target_leaf)
        if controller is None:
            return ()
        announcement = Announcement(
            source_leaf=event.source_leaf,
            target_leaf=event.target_leaf,
            dest_qp=event.dest_qp,
            first_psn=event.first_psn,
            num_packets=event.num_packets,
            sequence=event.sequence,
        )
        news = controller.on_announcement(announcement, now_ns)
        return self._told(event.target_leaf, event.step, news)

    def _counted(
        self, stamped: Stamped, event: FlowCounted, now_ns: int
    ) -> tuple[Output, ...]:
        leaf = parse_node(stamped.source)[1]
        controller = self._controllers.get(leaf)
        if controller is None:
            return ()
        self._measured.setdefault(leaf, set()).add(event.dest_qp)
        take = controller.on_last_psn if event.is_over else controller.on_counts
        news = take(event.dest_qp, event.counts, now_ns)
        return self._told(leaf, event.step, news)

    def _tick(self, step: int, now_ns: int) -> tuple[Output, ...]:
        found: list[Output] = []
        for leaf, controller in self._controllers.items():
            found += self._told(leaf, step, controller.on_tick(now_ns))
        if self._monitor is not None:
            for leaf in self._controllers:
                self._monitor.on_heartbeat(leaf, now_ns)
            for item in self._monitor.on_tick(now_ns, step=step):
                found.append(Output(source=MONITOR, event=item))
        return tuple(found)

    def _told(
        self, leaf: int, step: int, news: tuple[ControlEvent, ...]
    ) -> tuple[Output, ...]:
        events = [self._event(leaf, step, item) for item in news]
        return tuple(
            Output(source=leaf_name(leaf), event=event)
            for event in events
            if event is not None
        )

    def _event(self, leaf: int, step: int, item: ControlEvent) -> Event | None:
        match item:
            case PathsReported():
                return compared(item, step)
            case FlowClosed(dest_qp=qp, reason_code=code, detail=detail):
                was_measured = qp in self._measured.get(leaf, set())
                self._measured.get(leaf, set()).discard(qp)
                if code in _USUAL or (code == "expired" and not was_measured):
                    return None
                return FlowUnjudged(
                    step=step, dest_qp=qp, reason_code=code, detail=detail
                )
            case InputRejected(dest_qp=qp, reason_code=code, detail=detail):
                return FlowUnjudged(
                    step=step, dest_qp=qp, reason_code=code, detail=detail
                )
            case CounterOverflowed(dest_qp=qp, counter_bits=bits):
                detail = f"counters of {bits} bits"
                return FlowUnjudged(
                    step=step, dest_qp=qp, reason_code="overflow", detail=detail
                )
        return None

    # --- links --------------------------------------------------------------------

    def _compared(
        self, stamped: Stamped, event: PathsCompared, now_ns: int
    ) -> tuple[Output, ...]:
        if self._monitor is None:
            return ()
        news = self._monitor.on_report(
            reported(event),
            now_ns,
            step=event.step,
            source=EvidenceRef(source=stamped.source, seq=stamped.seq),
        )
        return tuple(Output(source=MONITOR, event=item) for item in news)


def _problem(message: str) -> Output:
    return Output(
        source=MONITOR, event=Problem(component="spraycheck", message=message)
    )


def _graph(ready: FabricReady, disabled: tuple[str, ...]) -> LeafSpine:
    return LeafSpine(
        num_leaves=ready.num_leaves,
        num_spines=ready.num_spines,
        disabled=frozenset(parse_link(name) for name in disabled),
    )


def _s(by_spines: dict[int, Sensitivity], num_spines: int) -> float:
    found = by_spines.get(num_spines)
    if found is None:
        known = ", ".join(map(str, sorted(by_spines))) or "none"
        raise CalibrationError(f"no s for k = {num_spines}; calibrated: {known}")
    return found.s
