/* Notes the key that each connection has proved, and cuts connections whose client has lost its
 * permission. */
#include "src/ingest/peers/internal.h"

#include <string.h>

void crn_peers_proved(void *peers, uint64_t connection, const char *key)
{
    crn_peers *self = peers;
    pthread_mutex_lock(&self->lock);
    for (int32_t i = 0; i < crn_peers_capacity(self); i++) {
        crn_peers_peer *it = &self->peer[i];
        if (it->descriptor >= 0 && it->number == connection)
            memcpy(it->key, key, CRN_KEY_BYTES);
    }
    pthread_mutex_unlock(&self->lock);
}

int32_t crn_peers_cut_refused(void *peers, const crn_access *access, crn_access_use use)
{
    crn_peers *self = peers;
    int32_t ended = 0;
    pthread_mutex_lock(&self->lock);
    for (int32_t i = 0; i < crn_peers_capacity(self); i++) {
        crn_peers_peer *it = &self->peer[i];
        /* A connection that was admitted while its key is unknown here, as with a libzmq that asks
         * for addresses in another way, is cut as well: it connects again if it may. */
        bool admitted = it->key[0] || it->frames.introduced;
        if (it->descriptor < 0 || it->cut || it->number == 0 || !admitted ||
            crn_access_permits(access, use, it->key))
            continue;
        crn_peers_cut_off(it, CRN_CUT_REVOKED);
        ended++;
    }
    pthread_mutex_unlock(&self->lock);
    return ended;
}
