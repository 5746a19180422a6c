/* A PAM module that answers what its argument ret=N says, for tests. */
#include <stdlib.h>
#include <string.h>
#include <security/pam_modules.h>

static int answer(int argc, const char **argv)
{
	for (int i = 0; i < argc; i++)
		if (!strncmp(argv[i], "ret=", 4))
			return atoi(argv[i] + 4);
	return PAM_SERVICE_ERR;
}

#define CALL(name) \
	int name(pam_handle_t *h, int flags, int argc, const char **argv) { return answer(argc, argv); }
CALL(pam_sm_authenticate)
CALL(pam_sm_setcred)
CALL(pam_sm_acct_mgmt)
CALL(pam_sm_open_session)
CALL(pam_sm_close_session)
CALL(pam_sm_chauthtok)
