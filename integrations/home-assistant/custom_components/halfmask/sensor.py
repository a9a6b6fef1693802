"""What the owner sees of the sharing."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from homeassistant.components.sensor import (
    SensorDeviceClass,
    SensorEntity,
    SensorEntityDescription,
    SensorStateClass,
)
from homeassistant.core import HomeAssistant
from homeassistant.helpers.device_registry import DeviceEntryType, DeviceInfo
from homeassistant.helpers.entity import EntityCategory
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback
from homeassistant.helpers.update_coordinator import CoordinatorEntity

from halfmask_device.decimals import downwards, money
from halfmask_device.instants import at

from .const import DOMAIN
from .coordinator import HalfmaskCoordinator, HalfmaskEntry
from .level_picture import shown_levels

Value = str | float | datetime | None


@dataclass(frozen=True, kw_only=True)
class HalfmaskSensorDescription(SensorEntityDescription):
    """A sensor, with its value and attributes."""

    value: Callable[[HalfmaskCoordinator], Value]
    attributes: Callable[[HalfmaskCoordinator], dict[str, Any]] = lambda _: {}


def _level(coordinator: HalfmaskCoordinator) -> str:
    member = coordinator.data.member
    return "left" if member.left else member.setting


def _level_words(coordinator: HalfmaskCoordinator) -> dict[str, Any]:
    member = coordinator.data.member
    level = next(each for each in shown_levels(member.terms) if each.id == member.setting)
    return {"setting": level.setting, "promise": level.promise, "reach": level.reach, "unit": member.terms.unit}


def _currency(coordinator: HalfmaskCoordinator) -> str:
    return str(coordinator.data.member.offer.get("currency", ""))


def _earned(coordinator: HalfmaskCoordinator) -> float:
    return float(money(coordinator.data.earned_this_month, _currency(coordinator)).partition(" ")[0])


def _budget_left(coordinator: HalfmaskCoordinator) -> float | None:
    left = coordinator.data.budget_left
    return None if left is None else float(downwards(left, 4))


SENSORS = (
    HalfmaskSensorDescription(
        key="since",
        translation_key="since",
        device_class=SensorDeviceClass.TIMESTAMP,
        value=lambda coordinator: at(coordinator.since),
    ),
    HalfmaskSensorDescription(key="level", translation_key="level", value=_level, attributes=_level_words),
    HalfmaskSensorDescription(
        key="waiting",
        translation_key="waiting",
        state_class=SensorStateClass.MEASUREMENT,
        entity_category=EntityCategory.DIAGNOSTIC,
        value=lambda coordinator: coordinator.data.history.waiting,
        attributes=lambda coordinator: (
            {"accepted": coordinator.data.history.accepted}
            | ({"problem": coordinator.data.problem[1]} if coordinator.data.problem[0] else {})
        ),
    ),
    HalfmaskSensorDescription(key="earned", translation_key="earned", suggested_display_precision=2, value=_earned),
    HalfmaskSensorDescription(
        key="budget_left",
        translation_key="budget_left",
        value=_budget_left,
        attributes=lambda coordinator: {"budget": list(coordinator.data.budget_words)},
    ),
)


async def async_setup_entry(
    _hass: HomeAssistant, entry: HalfmaskEntry, async_add_entities: AddConfigEntryEntitiesCallback
) -> None:
    """Add the sensors of an entry."""
    async_add_entities(HalfmaskSensor(entry.runtime_data, description) for description in SENSORS)


class HalfmaskSensor(CoordinatorEntity[HalfmaskCoordinator], SensorEntity):
    """One number or word about the sharing."""

    entity_description: HalfmaskSensorDescription
    _attr_has_entity_name = True

    def __init__(self, coordinator: HalfmaskCoordinator, description: HalfmaskSensorDescription) -> None:
        super().__init__(coordinator)
        entry = coordinator.config_entry
        self.entity_description = description
        self._attr_unique_id = f"{entry.entry_id}_{description.key}"
        self._attr_device_info = DeviceInfo(
            identifiers={(DOMAIN, entry.entry_id)},
            name=entry.title,
            entry_type=DeviceEntryType.SERVICE,
            manufacturer="halfmask",
            model=coordinator.statistic,
        )
        if description.key == "earned":
            self._attr_native_unit_of_measurement = money(0, _currency(coordinator)).partition(" ")[2] or None

    @property
    def native_value(self) -> Value:
        return self.entity_description.value(self.coordinator)

    @property
    def extra_state_attributes(self) -> dict[str, Any]:
        return self.entity_description.attributes(self.coordinator)
