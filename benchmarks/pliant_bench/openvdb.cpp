// OpenVDB's own answers and times for `pliant bench peers`, asked for line by line; src/pliant/bench/openvdb.py talks.
//
//   mesh FILE                 int64 n, int64 m, float32 (n,3) points, uint32 (m,3) triangles
//   bake SPACING BAND THREADS tools::meshToLevelSet                           -> seconds, active voxels, bytes
//   nodes IN OUT              int32 (n,3) -> float32 (n,), nan off the band   -> count
//   points FILE               float32 (n,3) for the next command              -> count
//   sample THREADS FRESH OUT  distance and gradient, float32 (n,4) to OUT where it is not "-"; FRESH 1 allocates the
//                             results inside the time                         -> seconds
#include <openvdb/openvdb.h>
#include <openvdb/tools/Interpolation.h>
#include <openvdb/tools/MeshToVolume.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <iostream>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

using Clock = std::chrono::steady_clock;
using Grid = openvdb::FloatGrid;

static double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

template <class T> static std::vector<T> rows(const std::string& path) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    std::vector<T> out(size_t(file.tellg()) / sizeof(T));
    file.seekg(0);
    file.read(reinterpret_cast<char*>(out.data()), std::streamsize(out.size() * sizeof(T)));
    return out;
}

template <class T> static void write(const std::string& path, const T* first, size_t count) {
    std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(first), std::streamsize(count * sizeof(T)));
}

// Trilinear value and its derivative at x, in voxels; both are stored as metres and metres a metre.
template <class Accessor> static void probe(const Accessor& grid, const openvdb::Vec3d& x, float per_metre, float* out) {
    const openvdb::Coord cell = openvdb::Coord::floor(x);
    float v[2][2][2];
    openvdb::tools::BoxSampler::getValues(v, grid, cell);
    const float a = float(x[0] - cell[0]), b = float(x[1] - cell[1]), c = float(x[2] - cell[2]);
    float edge[2][2], slope[2][2];
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j) {
            slope[i][j] = v[i][j][1] - v[i][j][0];
            edge[i][j] = v[i][j][0] + c * slope[i][j];
        }
    const float rise_0 = edge[0][1] - edge[0][0], rise_1 = edge[1][1] - edge[1][0];
    const float side_0 = edge[0][0] + b * rise_0, side_1 = edge[1][0] + b * rise_1;
    const float slope_0 = slope[0][0] + b * (slope[0][1] - slope[0][0]);
    const float slope_1 = slope[1][0] + b * (slope[1][1] - slope[1][0]);
    out[0] = side_0 + a * (side_1 - side_0);
    out[1] = (side_1 - side_0) * per_metre;
    out[2] = (rise_0 + a * (rise_1 - rise_0)) * per_metre;
    out[3] = (slope_0 + a * (slope_1 - slope_0)) * per_metre;
}

int main() {
    openvdb::initialize();
    std::vector<openvdb::Vec3s> x;
    std::vector<openvdb::Vec3I> faces;
    std::vector<openvdb::Vec4I> quads;
    std::vector<openvdb::Vec3s> points;
    std::unique_ptr<float[]> found;
    Grid::Ptr grid;
    double h = 1.0;
    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream words(line);
        std::string what, from, to;
        int threads = 1;
        words >> what;
        if (what == "mesh") {
            words >> from;
            std::ifstream file(from, std::ios::binary);
            int64_t n = 0, m = 0;
            file.read(reinterpret_cast<char*>(&n), 8).read(reinterpret_cast<char*>(&m), 8);
            x.resize(size_t(n)), faces.resize(size_t(m));
            file.read(reinterpret_cast<char*>(x.data()), n * 12).read(reinterpret_cast<char*>(faces.data()), m * 12);
            std::cout << n << " " << m;
        } else if (what == "bake") {
            float band = 3.0f;
            words >> h >> band >> threads;
            tbb::global_control limit(tbb::global_control::max_allowed_parallelism, size_t(threads));
            const auto place = openvdb::math::Transform::createLinearTransform(h);
            grid.reset();
            const auto start = Clock::now();
            grid = openvdb::tools::meshToLevelSet<Grid>(*place, x, faces, quads, band);
            std::cout << since(start) << " " << grid->activeVoxelCount() << " " << grid->memUsage();
        } else if (what == "nodes") {
            words >> from >> to;
            const auto nodes = rows<openvdb::Vec3i>(from);
            std::vector<float> out(nodes.size());
            const auto access = grid->getConstAccessor();
            for (size_t i = 0; i < nodes.size(); ++i) {
                const openvdb::Coord at(nodes[i][0], nodes[i][1], nodes[i][2]);
                float value;
                out[i] = access.probeValue(at, value) ? value : std::numeric_limits<float>::quiet_NaN();
            }
            write(to, out.data(), out.size());
            std::cout << out.size();
        } else if (what == "points") {
            words >> from;
            points = rows<openvdb::Vec3s>(from);
            found.reset(new float[4 * points.size()]());
            std::cout << points.size();
        } else if (what == "sample") {
            int fresh = 0;
            words >> threads >> fresh >> to;
            tbb::global_control limit(tbb::global_control::max_allowed_parallelism, size_t(threads));
            if (fresh) found.reset();
            const double per_metre = 1.0 / h;
            const auto start = Clock::now();
            if (fresh) found.reset(new float[4 * points.size()]);
            float* out = found.get();
            tbb::parallel_for(tbb::blocked_range<size_t>(0, points.size(), 4096), [&](const auto& range) {
                const auto access = grid->getConstUnsafeAccessor();
                for (size_t i = range.begin(); i < range.end(); ++i)
                    probe(access, openvdb::Vec3d(points[i]) * per_metre, float(per_metre), out + 4 * i);
            });
            std::cout << since(start);
            if (to != "-") write(to, out, 4 * points.size());
        } else {
            std::cout << "unknown command " << what;
        }
        std::cout << std::endl;
    }
}
