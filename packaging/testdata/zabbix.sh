# Runs in a Debian root with Zabbix's server, frontend and agent: the template is
# imported, linked to a host, and its items have values. fettle.deb and the folder zabbix
# lie in /packages.
set -ex
dpkg -i /packages/fettle.deb
pg_ctlcluster 15 main start
as() { user=$1; shift; (cd / && runuser -u "$user" -- "$@"); }
as postgres createuser zabbix
as postgres createdb -O zabbix -E UTF8 -T template0 zabbix
for f in schema images data; do zcat /usr/share/zabbix-server-pgsql/$f.sql.gz; done > /tmp/zabbix.sql
as zabbix psql -q -v ON_ERROR_STOP=1 -f /tmp/zabbix.sql zabbix > /dev/null
as postgres psql -q -c "ALTER ROLE zabbix PASSWORD 'z'"
cat > /etc/zabbix/zabbix.conf.php <<'PHP'
<?php
$DB['TYPE'] = 'POSTGRESQL'; $DB['SERVER'] = '127.0.0.1'; $DB['PORT'] = '0'; $DB['DATABASE'] = 'zabbix';
$DB['USER'] = 'zabbix'; $DB['PASSWORD'] = 'z'; $DB['SCHEMA'] = ''; $DB['ENCRYPTION'] = false; $DB['KEY_FILE'] = ''; $DB['CERT_FILE'] = '';
$DB['CA_FILE'] = ''; $DB['VERIFY_HOST'] = false; $DB['CIPHER_LIST'] = ''; $DB['VAULT_URL'] = ''; $DB['VAULT_DB_PATH'] = ''; $DB['VAULT_TOKEN'] = '';
$DB['DOUBLE_IEEE754'] = true;
$ZBX_SERVER = '127.0.0.1'; $ZBX_SERVER_PORT = '10051'; $ZBX_SERVER_NAME = ''; $IMAGE_FORMAT_DEFAULT = IMAGE_FORMAT_PNG;
PHP
(cd /usr/share/zabbix && exec php -S 127.0.0.1:8080 > /tmp/php.log 2>&1) &
for i in $(seq 50); do curl -s -o /dev/null http://127.0.0.1:8080/ && break; sleep .2; done

id=0
call() { # call METHOD PARAMS: the result
	id=$((id + 1))
	jq -nc --arg m "$1" --argjson p "$2" --argjson a "${auth:-null}" '{jsonrpc: "2.0", method: $m, params: $p, auth: $a, id: 1}' > /tmp/ask
	curl -s -H 'Content-Type: application/json-rpc' -d @/tmp/ask http://127.0.0.1:8080/api_jsonrpc.php > /tmp/said
	jq -e 'has("result")' /tmp/said > /dev/null || { cat /tmp/said >&2; return 1; }
	jq -c .result /tmp/said
}
auth=$(call user.login '{"username": "Admin", "password": "zabbix"}')
rules='{"groups": {"createMissing": true}, "templates": {"createMissing": true, "updateExisting": true}, "items": {"createMissing": true, "updateExisting": true}, "triggers": {"createMissing": true, "updateExisting": true}, "valueMaps": {"createMissing": true, "updateExisting": true}}'
import=$(jq -n --rawfile s /packages/zabbix/fettle.yaml --argjson r "$rules" '{format: "yaml", source: $s, rules: $r}')
test "$(call configuration.import "$import")" = true
test "$(call configuration.import "$import")" = true # again: an update
template=$(call template.get '{"filter": {"host": "fettle"}}' | jq -r '.[0].templateid')
call item.get "{\"templateids\": \"$template\", \"output\": [\"key_\"]}" | jq -r '.[].key_' | sort > /result/keys
call trigger.get "{\"templateids\": \"$template\", \"output\": [\"description\"], \"expandExpression\": true}" | jq -r '.[].description' | sort > /result/triggers
group=$(call hostgroup.get '{"filter": {"name": "Linux servers"}}' | jq -r '.[0].groupid')
host=$(call host.create "{\"host\": \"this\", \"groups\": [{\"groupid\": \"$group\"}], \"templates\": [{\"templateid\": \"$template\"}], \"interfaces\": [{\"type\": 1, \"main\": 1, \"useip\": 1, \"ip\": \"127.0.0.1\", \"dns\": \"\", \"port\": \"10050\"}]}" | jq -r '.hostids[0]')

# As fettle.conf says.
cp /packages/zabbix/fettle.conf /etc/zabbix/zabbix_agentd.conf.d/
echo 'zabbix ALL=(root) NOPASSWD: /usr/bin/fettle check --format json -q' > /etc/sudoers.d/fettle
printf 'nameserver 192.0.2.%s\n' 1 2 3 4 > /etc/resolv.conf # something to find
mkdir -p /run/zabbix /var/log/zabbix-server /var/log/zabbix-agent
chown zabbix /run/zabbix /var/log/zabbix-server /var/log/zabbix-agent
printf 'DBHost=127.0.0.1\nDBPassword=z\nCacheUpdateFrequency=1\nStatsAllowedIP=127.0.0.1\n' > /etc/zabbix/zabbix_server.conf.d/test.conf
as zabbix zabbix_agentd -c /etc/zabbix/zabbix_agentd.conf
as zabbix zabbix_server -c /etc/zabbix/zabbix_server.conf
values() { call item.get "{\"hostids\": \"$host\", \"output\": [\"key_\", \"lastvalue\", \"lastclock\", \"error\", \"state\"]}"; }
item=$(call item.get "{\"hostids\": \"$host\", \"filter\": {\"key_\": \"fettle.report\"}}" | jq -r '.[0].itemid')
for i in $(seq 40); do
	sleep 2
	call task.create "[{\"type\": 6, \"request\": {\"itemid\": \"$item\"}}]" > /dev/null || true # check now
	values > /tmp/values
	jq -e '[.[] | select(.key_ != "fettle.report" and .lastclock == "0")] | length == 0' /tmp/values > /dev/null && break
done
jq -r '.[] | select(.key_ != "fettle.report") | "\(.key_) \(.lastvalue) \(.state)\(.error)"' /tmp/values | sort > /result/values
call trigger.get "{\"hostids\": \"$host\", \"output\": [\"description\", \"value\"]}" | jq -r '.[] | "\(.value) \(.description)"' | sort > /result/fired
fettle check --format json | jq -r '"fettle.critical \(.counts.severities.critical)", "fettle.warning \(.counts.severities.warning)"' > /result/told
tail -n 20 /var/log/zabbix-server/zabbix_server.log /var/log/zabbix-agent/zabbix_agentd.log > /result/log
