"""Share a sensor with a halfmask campaign: masked on this machine, sent once per period."""

from homeassistant.config_entries import ConfigEntry
from homeassistant.const import Platform
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import ConfigEntryError
from homeassistant.helpers import issue_registry as ir

from halfmask_device.errors import HalfmaskError

from .const import CONF_CAMPAIGN, CONF_SENSOR, DOMAIN
from .coordinator import ISSUES, LOGGER, HalfmaskCoordinator, HalfmaskEntry, device_of, issue_id

PLATFORMS = [Platform.SENSOR]


async def async_setup_entry(hass: HomeAssistant, entry: HalfmaskEntry) -> bool:
    """Start sharing. What is due is sent in the background, so that a slow service does not delay the start."""
    coordinator = HalfmaskCoordinator(hass, entry)
    try:
        coordinator.async_set_updated_data(await coordinator.async_standing())
    except HalfmaskError as error:
        raise ConfigEntryError(str(error)) from error
    entry.runtime_data = coordinator
    entry.async_on_unload(coordinator.async_add_listener(lambda: None))  # so that it shares even if all sensors are off
    await hass.config_entries.async_forward_entry_setups(entry, PLATFORMS)
    entry.async_create_background_task(hass, coordinator.async_refresh(), "halfmask: send what is due")
    return True


async def async_unload_entry(hass: HomeAssistant, entry: HalfmaskEntry) -> bool:
    """Stop sharing until the entry is loaded again."""
    return await hass.config_entries.async_unload_platforms(entry, PLATFORMS)


async def async_remove_entry(hass: HomeAssistant, entry: ConfigEntry) -> None:
    """Leave the campaign. The device's folder stays: its secret keeps a reading from being observed twice."""
    for issue in ISSUES.values():
        ir.async_delete_issue(hass, DOMAIN, issue_id(entry, issue))
    try:
        await hass.async_add_executor_job(device_of(hass, entry.data[CONF_SENSOR]).leave, entry.data[CONF_CAMPAIGN])
    except HalfmaskError as error:
        LOGGER.warning("%s was removed here, but its service was not told: %s", entry.title, error)
