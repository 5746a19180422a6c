/* Prints what the OpenLDAP library made of its files and variables. */
#include <ldap.h>
#include <stdio.h>

int main(void)
{
	int cert = -1, san = -1;
	char *file = NULL, *dir = NULL, *uri = NULL;

	ldap_get_option(NULL, LDAP_OPT_X_TLS_REQUIRE_CERT, &cert);
	ldap_get_option(NULL, LDAP_OPT_X_TLS_REQUIRE_SAN, &san);
	ldap_get_option(NULL, LDAP_OPT_X_TLS_CACERTFILE, &file);
	ldap_get_option(NULL, LDAP_OPT_X_TLS_CACERTDIR, &dir);
	ldap_get_option(NULL, LDAP_OPT_URI, &uri);
	printf("%d\n%d\n%s\n%s\n%s\n", cert, san, file ? file : "", dir ? dir : "", uri ? uri : "");
	return 0;
}
