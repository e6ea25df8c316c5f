#include "src/client/post.h"

#include <errno.h>

bool crn_post_is_built(void)
{
    return false;
}

int crn_post_send(const char *endpoint, const crn_post_request *request, crn_error *error)
{
    (void)endpoint;
    (void)request;
    return crn_error_set(error, -ENOTSUP, "this program was built without libcurl");
}
