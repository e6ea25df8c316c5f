#include "tools/archive/nats/connection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NS_PER_DAY (INT64_C(86400) * 1000000000)
#define CONNECT_MS 2000

bool crn_nats_is_built(void)
{
    return true;
}

/* --- settings --- */

static bool is_stream_name(const char *name)
{
    return *name && name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                      "0123456789_-")] == '\0';
}

/* Copies a list of URLs without what is between "://" and '@' in each. */
static char *copy_without_users(const char *urls)
{
    char *copy = calloc(1, strlen(urls) + 1), *to = copy;
    while (copy && *urls) {
        size_t length = strcspn(urls, ",");
        const char *host = memmem(urls, length, "://", 3);
        host = host ? host + 3 : urls;
        const char *at = memrchr(host, '@', length - (size_t)(host - urls));
        to = mempcpy(to, urls, (size_t)(host - urls));
        const char *rest = at ? at + 1 : host;
        to = mempcpy(to, rest, length - (size_t)(rest - urls));
        urls += length;
        if (*urls)
            *to++ = *urls++;
    }
    return copy;
}

static int read_url(crn_nats *nats, const char *url, crn_error *error)
{
    const char *slash = strrchr(url, '/');
    nats->name = copy_without_users(url);
    nats->servers = strndup(url, (size_t)(slash - url));
    nats->stream = strdup(slash + 1);
    if (!nats->name || !nats->servers || !nats->stream)
        return crn_error_set(error, -ENOMEM, "NATS: no memory");
    const char *hosts = strstr(nats->servers, "://");
    if (!hosts || hosts[3] == '\0' || !is_stream_name(nats->stream))
        return crn_error_set(
            error, -EINVAL,
            "%s: is not nats://HOST[:PORT]/STREAM with a stream's name of letters, "
            "digits, '-' and '_'",
            nats->name);
    return 0;
}

static int fail_file(const crn_nats *nats, const char *what, const char *path, crn_error *error)
{
    const char *text = nats_GetLastError(NULL);
    return crn_error_set(error, -EINVAL, "%s: %s: cannot be used as %s: %s", nats->name, path, what,
                         text ? text : "unreadable");
}

static int read_files(crn_nats *nats, crn_error *error)
{
    const crn_nats_settings *set = nats->settings;
    if ((set->cert == NULL) != (set->key == NULL))
        return crn_error_set(error, -EINVAL, "%s: --nats-cert and --nats-key are given together",
                             nats->name);
    if (set->creds && access(set->creds, R_OK) < 0)
        return crn_error_set(error, -errno, "%s: %s: let the user who runs this program read it",
                             set->creds, strerror(errno));
    if (set->creds && natsOptions_SetUserCredentialsFromFiles(nats->options, set->creds, NULL))
        return fail_file(nats, "credentials", set->creds, error);
    if (set->ca && natsOptions_LoadCATrustedCertificates(nats->options, set->ca))
        return fail_file(nats, "--nats-ca", set->ca, error);
    if (set->cert && natsOptions_LoadCertificatesChain(nats->options, set->cert, set->key))
        return fail_file(nats, "--nats-cert with its --nats-key", set->cert, error);
    return 0;
}

int crn_nats_init(crn_nats *nats, const crn_nats_settings *settings, crn_error *error)
{
    *nats = (crn_nats){.settings = settings};
    int r = read_url(nats, settings->url, error);
    if (r < 0)
        return r;
    bool is_secure = strncmp(nats->servers, "tls://", 6) == 0 || settings->ca || settings->cert;
    natsStatus s = natsOptions_Create(&nats->options);
    if (s == NATS_OK)
        s = natsOptions_SetURL(nats->options, nats->servers);
    if (s == NATS_OK)
        s = natsOptions_SetName(nats->options, "cernita-archive");
    if (s == NATS_OK)
        s = natsOptions_SetAllowReconnect(nats->options, false);
    if (s == NATS_OK)
        s = natsOptions_SetTimeout(nats->options, CONNECT_MS);
    if (s == NATS_OK)
        s = natsOptions_SetWriteDeadline(nats->options, CRN_NATS_WAIT_MS);
    if (s == NATS_OK && is_secure)
        s = natsOptions_SetSecure(nats->options, true); /* the certificate has to be of the host */
    if (s != NATS_OK)
        return crn_error_set(error, -EINVAL, "%s: %s", nats->name, natsStatus_GetText(s));
    return read_files(nats, error);
}

void crn_nats_done(crn_nats *nats)
{
    crn_nats_disconnect(nats);
    natsOptions_Destroy(nats->options);
    free(nats->servers);
    free(nats->stream);
    free(nats->name);
    *nats = (crn_nats){.settings = NULL};
}

/* --- errors --- */

static const char *help(natsStatus status, jsErrCode code)
{
    if (code == JSNotEnabledErr || code == JSNotEnabledForAccountErr)
        return "the server has no JetStream for this account: start nats-server with -js";
    if (code == JSStorageResourcesExceededErr || code == JSInsufficientResourcesErr)
        return "the server has no room for the stream: give it more (max_file_store)";
    switch (status) {
    case NATS_NO_SERVER:
    case NATS_IO_ERROR:
        return "no NATS server answers there: start it, or name another one";
    case NATS_CONNECTION_AUTH_FAILED:
        return "the server refuses this user: give --nats-creds, or USER:PASSWORD@ before the host";
    case NATS_NOT_PERMITTED:
        return "the server does not permit it: README.md lists the permissions that are needed";
    case NATS_SECURE_CONNECTION_REQUIRED:
        return "the server wants TLS: begin the URL with tls://";
    case NATS_SECURE_CONNECTION_WANTED:
        return "the server has no TLS: begin the URL with nats://";
    case NATS_SSL_ERROR:
        return "TLS fails: name the certificate of the server's issuer with --nats-ca, and this "
               "client's with --nats-cert and --nats-key where the server wants one";
    case NATS_NO_RESPONDERS:
        return "the server has no JetStream, or the stream does not take what is published: add "
               "STREAM.> to its subjects";
    case NATS_CONNECTION_CLOSED:
    case NATS_CONNECTION_DISCONNECTED:
    case NATS_STALE_CONNECTION:
        return "the connection to the server broke";
    case NATS_TIMEOUT:
        return "the server does not answer within 5 s: see its log, and this user's permissions";
    default:
        return NULL;
    }
}

int crn_nats_fail(const crn_nats *nats, natsStatus status, jsErrCode code, crn_error *error)
{
    const char *line = help(status, code), *told = code ? nats_GetLastError(NULL) : NULL;
    if (line)
        return crn_error_set(error, -ENOTCONN, "%s: %s", nats->name, line);
    return crn_error_set(error, -ENOTCONN, "%s: %s", nats->name,
                         told ? told : natsStatus_GetText(status));
}

/* --- the connection --- */

static natsStatus make_stream(crn_nats *nats, jsErrCode *code)
{
    jsStreamConfig config;
    char subjects[1024];
    const char *all[] = {subjects};
    snprintf(subjects, sizeof subjects, "%s.>", nats->stream);
    jsStreamConfig_Init(&config);
    config.Name = nats->stream;
    config.Description = "verdicts and outcomes of cernita's lines";
    config.Subjects = all;
    config.SubjectsLen = 1;
    config.Storage = js_FileStorage;
    config.Discard = js_DiscardNew;
    config.MaxAge = CRN_NATS_KEEP_DAYS * NS_PER_DAY;
    return js_AddStream(NULL, nats->context, &config, NULL, code);
}

int crn_nats_connect(crn_nats *nats, crn_error *error)
{
    jsErrCode code = 0;
    jsOptions options;
    crn_nats_disconnect(nats);
    jsOptions_Init(&options);
    options.Wait = CRN_NATS_WAIT_MS;
    natsStatus s = natsConnection_Connect(&nats->connection, nats->options);
    if (s == NATS_OK)
        s = natsConnection_JetStream(&nats->context, nats->connection, &options);
    if (s == NATS_OK) {
        jsStreamInfo *about = NULL;
        s = js_GetStreamInfo(&about, nats->context, nats->stream, NULL, &code);
        jsStreamInfo_Destroy(about);
        if (s == NATS_NOT_FOUND && code == JSStreamNotFoundErr) {
            code = 0;
            s = make_stream(nats, &code);
        }
    }
    if (s == NATS_OK)
        return 0;
    crn_nats_fail(nats, s, code, error);
    crn_nats_disconnect(nats);
    return -ENOTCONN;
}

void crn_nats_disconnect(crn_nats *nats)
{
    jsCtx_Destroy(nats->context);
    natsConnection_Destroy(nats->connection);
    nats->context = NULL;
    nats->connection = NULL;
}
