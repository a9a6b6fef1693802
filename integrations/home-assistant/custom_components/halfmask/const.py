"""Names that the parts of the integration share."""

DOMAIN = "halfmask"

CONF_ADDRESS = "address"
CONF_CAMPAIGN = "campaign"
CONF_INVITATION = "invitation"
CONF_SENSOR = "sensor"
CONF_LEVEL = "level"
CONF_BUDGET = "budget"
CONF_ALSO = "also"
CONF_SMALL = "small_cohort"
CONF_SINCE = "since"
