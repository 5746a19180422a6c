package proof

import "fettle/lab"

const (
	labServer      = "192.0.2.10"
	imposterServer = "192.0.2.11"
)

var needs = lab.Needs{
	Tools: []string{"ip", "openssl", "slapd", "ldapsearch", "cp"},
	Files: []string{"/etc/os-release", "/usr/lib/os-release"},
}

// search is what ldapsearch, as anybody runs it, says of a server over TLS.
func search(uri string, want ...string) lab.Probe {
	return lab.Probe{Name: "ldapsearch -ZZ " + uri, Want: want,
		Run: []string{"ldapsearch", "-LLL", "-x", "-ZZ", "-H", uri, "-b", "", "-s", "base", "-o", "nettimeout=5", "1.1"}}
}

// What ldapsearch says first to a server that it takes, and to another.
const (
	takes   = "dn:"
	refuses = "ldap_start_tls: Connect error .*"
)

// imposter is a server at another address, with a certificate that it made itself.
var imposter = []lab.Act{
	{Run: []string{"ip", "address", "add", imposterServer + "/32", "dev", "lo"}},
	{
		Write: &lab.File{
			Path:    "/run/ldap/imposter.conf",
			Content: "[req]\ndistinguished_name=dn\n[dn]\n[server]\nsubjectAltName=IP:" + imposterServer + "\n",
		},
	},
	{
		Run: []string{
			"openssl",
			"req",
			"-x509",
			"-config",
			"/run/ldap/imposter.conf",
			"-extensions",
			"server",
			"-newkey",
			"ec",
			"-pkeyopt",
			"ec_paramgen_curve:prime256v1",
			"-nodes",
			"-days",
			"30",
			"-subj",
			"/CN=ldap",
			"-keyout",
			"/run/ldap/imposter.key",
			"-out",
			"/run/ldap/imposter.pem",
		},
	},
	{
		Write: &lab.File{
			Path: "/run/ldap/imposter-slapd.conf",
			Content: "pidfile /run/ldap/pid2\nargsfile /run/ldap/args2\nTLSCertificateFile /run/ldap/imposter.pem\nTLSCertificateKeyFile " +
				"/run/ldap/imposter.key\n",
		},
	},
	{Start: []string{"slapd", "-f", "/run/ldap/imposter-slapd.conf", "-h", "ldap://" + imposterServer, "-d", "0"}},
	{Until: []string{"ldapsearch", "-LLL", "-x", "-H", "ldap://" + imposterServer, "-b", "", "-s", "base", "1.1"}},
}

// server makes a CA and a server's certificate, and starts a real slapd with
// it; then come the acts that a scenario adds, and ldap.conf.
func server(conf string, more ...lab.Act) []lab.Act {
	run := func(args ...string) lab.Act { return lab.Act{Run: args} }
	acts := []lab.Act{
		run("ip", "link", "set", "lo", "up"),
		run("ip", "address", "add", labServer+"/32", "dev", "lo"),
		{
			Write: &lab.File{
				Path:    "/run/ldap/req.conf",
				Content: "[req]\ndistinguished_name=dn\n[dn]\n[ca]\nbasicConstraints=critical,CA:TRUE\n[server]\nsubjectAltName=IP:" + labServer + "\n",
			},
		},
		run(
			"openssl",
			"req",
			"-x509",
			"-config",
			"/run/ldap/req.conf",
			"-extensions",
			"ca",
			"-newkey",
			"ec",
			"-pkeyopt",
			"ec_paramgen_curve:prime256v1",
			"-nodes",
			"-days",
			"30",
			"-subj",
			"/CN=Corp CA",
			"-keyout",
			"/run/ldap/ca.key",
			"-out",
			"/run/ldap/ca.pem",
		),
		run(
			"openssl",
			"req",
			"-config",
			"/run/ldap/req.conf",
			"-newkey",
			"ec",
			"-pkeyopt",
			"ec_paramgen_curve:prime256v1",
			"-nodes",
			"-subj",
			"/CN=ldap",
			"-keyout",
			"/run/ldap/server.key",
			"-out",
			"/run/ldap/server.csr",
		),
		run(
			"openssl",
			"x509",
			"-req",
			"-in",
			"/run/ldap/server.csr",
			"-CA",
			"/run/ldap/ca.pem",
			"-CAkey",
			"/run/ldap/ca.key",
			"-CAcreateserial",
			"-days",
			"30",
			"-extfile",
			"/run/ldap/req.conf",
			"-extensions",
			"server",
			"-out",
			"/run/ldap/server.pem",
		),
		{
			Write: &lab.File{
				Path: "/run/ldap/slapd.conf",
				Content: "pidfile /run/ldap/pid\nargsfile /run/ldap/args\nTLSCertificateFile /run/ldap/server.pem\nTLSCertificateKeyFile " +
					"/run/ldap/server.key\n",
			},
		},
		{Start: []string{"slapd", "-f", "/run/ldap/slapd.conf", "-h", "ldap://" + labServer, "-d", "0"}},
		{Write: &lab.File{Path: "/etc/ssl/certs/ca-certificates.crt"}},
		run("cp", "/run/ldap/ca.pem", "/etc/ssl/certs/ca-certificates.crt"),
		{Write: &lab.File{Path: "/etc/ldap/ldap.conf", Content: "URI ldap://" + labServer + "\n" + conf}},
	}
	return append(append(acts, more...), lab.Act{Until: []string{"ldapsearch", "-LLL", "-x", "-b", "", "-s", "base", "1.1"}})
}

var Scenarios = []lab.Scenario{
	{
		Name: "verification-off", About: "A real slapd, and a client that takes any certificate for it",
		Needs: needs, Subject: "openldap",
		Probes:  []lab.Probe{search("ldap://"+labServer, takes, takes, takes), search("ldap://"+imposterServer, takes, refuses, takes)},
		Prepare: server("# the shop's\nTLS_CACERT /etc/ssl/certs/ca-certificates.crt\nTLS_REQCERT never\nSIZELIMIT 12", imposter...),
		Files: map[string]string{"/etc/ldap/ldap.conf": "URI ldap://192.0.2.10\n# the shop's\n" +
			"TLS_CACERT /etc/ssl/certs/ca-certificates.crt\nTLS_REQCERT\tdemand\nSIZELIMIT 12"},
	},
	{
		Name: "ca-file-gone", About: "A CA file that is missing; another of the host's holds the CA",
		Long: true, Needs: needs, Subject: "openldap", Probes: []lab.Probe{search("ldap://"+labServer, refuses, takes, refuses)},
		Prepare: server("TLS_CACERT /etc/ldap/ca.pem\n"),
		Files: map[string]string{"/etc/ldap/ldap.conf": "URI ldap://" + labServer + "\n" +
			"TLS_CACERT\t/etc/ssl/certs/ca-certificates.crt\n"},
	},
	{
		Name: "verifies", About: "A server whose certificate verifies, asked for it",
		Needs: needs, Innocent: true, CheckArgs: []string{"--network"},
		Prepare: server("TLS_CACERT /etc/ssl/certs/ca-certificates.crt\n"),
	},
	{
		Name: "imposter", About: "Another server in the right one's place, asked for its certificate",
		Long: true, Needs: needs, Subject: "openldap ldap://" + labServer + ":389", Unfixable: true, CheckArgs: []string{"--network"},
		Probes: []lab.Probe{search("ldap://"+labServer, refuses)},
		Prepare: server(
			"TLS_CACERT /etc/ldap/other.pem\n",
			lab.Act{Run: []string{"openssl", "req", "-x509", "-config", "/run/ldap/req.conf", "-extensions", "ca",
				"-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30", "-subj", "/CN=Corp CA", "-keyout",
				"/run/ldap/other.key", "-out", "/etc/ldap/other.pem"}},
		),
	},
}
