// The defects of a view: `defects LINE.yaml` runs the chain of a line's file on maps with a spot in every class that
// it outlines. Context and Chain are what a program of yours can copy.
#include <cernita.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

// One for each thread that calls.
class Context {
public:
    explicit Context(const crn_context_settings &settings = {})
    {
        crn_context *opened = nullptr;
        if (crn_context_open(&settings, &opened) < 0) {
            const char *why = crn_backend_missing(settings.backend);
            throw std::runtime_error(why ? why : "no context with these settings");
        }
        context.reset(opened);
    }

    crn_context *get() const { return context.get(); }

    // For what a call of this context returned.
    void check(int result) const
    {
        if (result < 0)
            throw std::runtime_error(crn_context_error(get()));
    }

private:
    struct Free {
        void operator()(crn_context *it) const { crn_context_free(&it); }
    };
    std::unique_ptr<crn_context, Free> context;
};

// Of a line's file. Declare it after its context, so that it is freed before.
class Chain {
public:
    Chain(const Context &context, const std::string &file) : context(context)
    {
        crn_chain *opened = nullptr;
        context.check(crn_chain_open(context.get(), file.c_str(), &opened));
        chain.reset(opened);
    }

    int classes() const { return crn_chain_class_count(chain.get()); }
    std::string name(int index) const { return crn_chain_class_name(chain.get(), index); }

    // The result is the chain's, until its next call.
    const crn_defects &judge(const crn_image &maps, const crn_image *photograph = nullptr)
    {
        const crn_defects *found = nullptr;
        context.check(crn_chain_judge(chain.get(), &maps, photograph, &found));
        return *found;
    }

private:
    struct Free {
        void operator()(crn_chain *it) const { crn_chain_free(&it); }
    };
    const Context &context;
    std::unique_ptr<crn_chain, Free> chain;
};

// As a CNN emits them: for each pixel the probabilities of all classes.
static std::vector<float> spots(int classes, int height, int width)
{
    std::vector<float> maps(static_cast<std::size_t>(classes) * height * width);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            for (int i = 0; i < classes; i++) {
                double from = std::hypot(x - width * (i + 0.5) / classes, y - height / 2.0);
                maps[(static_cast<std::size_t>(y) * width + x) * classes + i] =
                    static_cast<float>(1 / (1 + std::exp(from - 5)));
            }
    return maps;
}

int main(int count, char **arguments)
try {
    if (count != 2)
        throw std::runtime_error("usage: defects LINE.yaml");
    const int height = 95, width = 511;
    Context context;
    Chain chain(context, arguments[1]);
    std::vector<float> maps = spots(chain.classes(), height, width);
    const crn_defects &found =
        chain.judge(crn_image_dense(maps.data(), CRN_F32, CRN_HWC, chain.classes(), height, width));
    for (uint32_t i = 0; i < found.defect_count; i++) {
        const crn_defect &it = found.defects[i];
        std::printf("%s: %.1f px2 around (%.1f, %.1f), probability %.2f, outline of %u points\n",
                    chain.name(it.channel).c_str(), it.area_px, it.centroid_x, it.centroid_y,
                    it.mean_probability, it.point_count);
    }
    return 0;
} catch (const std::exception &fault) {
    std::fprintf(stderr, "defects: %s\n", fault.what());
    return 1;
}
