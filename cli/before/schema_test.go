package before

import (
	"testing"

	"fettle/internal/schematest"
)

func TestSchema(t *testing.T) {
	schematest.Published(t, "before-reboot", "What a restart will do to a host, of fettle before reboot.", document{})
	schematest.Published(t, "before-reboot-fleet", "What a restart will do to many hosts, of fettle before reboot --host.", fleetDocument{})
}

func TestUpgradeSchema(t *testing.T) {
	schematest.Published(t, "before-upgrade", "What an upgrade will break, of fettle before upgrade.", upgradeDocument{})
	schematest.Published(t, "before-upgrade-fleet", "What it will break on many hosts, of before upgrade --host.", upgradeFleetDocument{})
}

func TestUpdateSchema(t *testing.T) {
	schematest.Published(t, "before-update", "What an update brings, of fettle before update.", updateDocument{})
}
