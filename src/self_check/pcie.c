/* The PCI Express links of NVIDIA's devices, and their driver's persistence mode. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "src/self_check/internal.h"

#define NVIDIA        "0x10de"
#define DISPLAY_CLASS "0x03"
#define PCI_DEVICES   "/sys/bus/pci/devices"
#define DEVICES_MAX   16
#define ADDRESS_BYTES 32
#define COST_WIDTH    "uploads of views take longer, in proportion: half the lanes, twice as long"
#define COST_SPEED                                                                                 \
    "an idle link is slow to save power and rises under load; if it stays, uploads take longer"
#define COST_PERSISTENCE                                                                           \
    "the driver is unloaded when nobody uses the GPU: the daemon's start takes seconds longer, "   \
    "and clocks and limits that were set are lost"

typedef struct link_state {
    double speed, speed_max;
    int64_t width, width_max;
} link_state;

static bool read_link(const crn_self_check *check, const char *address, link_state *ret_link)
{
    char text[CRN_SELF_CHECK_TEXT];
    if (!crn_self_check_read(check, text, PCI_DEVICES "/%s/current_link_speed", address))
        return false;
    ret_link->speed = atof(text); /* "8.0 GT/s PCIe" */
    if (!crn_self_check_read(check, text, PCI_DEVICES "/%s/max_link_speed", address))
        return false;
    ret_link->speed_max = atof(text);
    return crn_self_check_read_number(check, &ret_link->width, PCI_DEVICES "/%s/current_link_width",
                                      address) &&
           crn_self_check_read_number(check, &ret_link->width_max, PCI_DEVICES "/%s/max_link_width",
                                      address);
}

static int generation(double speed)
{
    static const double speeds[] = {2.5, 5, 8, 16, 32, 64};
    int found = 0;
    for (int i = 0; i < 6; i++)
        if (speed >= speeds[i])
            found = i + 1;
    return found;
}

static void check_link(crn_self_check *check, const char *address)
{
    static const char name[] = "PCIe link";
    link_state link;
    if (!read_link(check, address, &link) || link.speed <= 0) {
        crn_self_check_add(check, name, CRN_FINDING_UNKNOWN, NULL, NULL,
                           "%s: the hypervisor hides it", address);
        return;
    }
    bool narrow = link.width < link.width_max, slow = link.speed < link.speed_max;
    crn_self_check_add(check, name, narrow || slow ? CRN_FINDING_NOTE : CRN_FINDING_OK,
                       narrow ? COST_WIDTH : COST_SPEED,
                       narrow ? "move the card to a slot with all lanes (lspci -vv shows them)"
                              : "look again under load; then the firmware's settings of the slot",
                       "%s: generation %d of %d, %" PRId64 " of %" PRId64 " lanes", address,
                       generation(link.speed), generation(link.speed_max), link.width,
                       link.width_max);
}

static int list_devices(const crn_self_check *check, char ret_address[DEVICES_MAX][ADDRESS_BYTES])
{
    char path[512], vendor[CRN_SELF_CHECK_TEXT], class[CRN_SELF_CHECK_TEXT];
    struct dirent *entry;
    int count = 0;
    snprintf(path, sizeof path, "%s" PCI_DEVICES, check->root);
    DIR *devices = opendir(path);
    while (devices && count < DEVICES_MAX && (entry = readdir(devices)))
        if (strlen(entry->d_name) < ADDRESS_BYTES &&
            crn_self_check_read(check, vendor, PCI_DEVICES "/%s/vendor", entry->d_name) &&
            strcmp(vendor, NVIDIA) == 0 &&
            crn_self_check_read(check, class, PCI_DEVICES "/%s/class", entry->d_name) &&
            strncmp(class, DISPLAY_CLASS, strlen(DISPLAY_CLASS)) == 0)
            strcpy(ret_address[count++], entry->d_name);
    if (devices)
        closedir(devices);
    return count;
}

static void check_persistence(crn_self_check *check)
{
    static const char name[] = "persistence mode";
    char line[64] = "";
    FILE *answer =
        popen("nvidia-smi --query-gpu=persistence_mode --format=csv,noheader 2>&1", "re");
    bool there = answer && fgets(line, sizeof line, answer);
    if (!answer || pclose(answer) != 0 || !there) {
        crn_self_check_add(check, name, CRN_FINDING_UNKNOWN, NULL, NULL, "no nvidia-smi");
        return;
    }
    line[strcspn(line, "\n")] = '\0';
    crn_self_check_add(check, name,
                       strcmp(line, "Enabled") == 0 ? CRN_FINDING_OK : CRN_FINDING_NOTE,
                       COST_PERSISTENCE, "systemctl enable --now nvidia-persistenced", "%s", line);
}

void crn_self_check_pcie(crn_self_check *check)
{
    char address[DEVICES_MAX][ADDRESS_BYTES];
    int count = list_devices(check, address);
    for (int i = 0; i < count; i++)
        check_link(check, address[i]);
    if (count > 0)
        check_persistence(check);
}
